"""placeholder"""
def check() -> None:
    """x"""
