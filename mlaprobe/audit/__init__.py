"""Decisions about AITER that a serving engine takes by hand, and whether they agree with it."""
