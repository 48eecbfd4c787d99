"""Injected defects: does this project's gate fail when it should?"""
