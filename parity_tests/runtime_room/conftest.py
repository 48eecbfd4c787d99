"""Settings of this room: drawn examples may take as long as a busy machine needs."""

from hypothesis import settings

settings.register_profile("runtime_room", deadline=None)
settings.load_profile("runtime_room")
