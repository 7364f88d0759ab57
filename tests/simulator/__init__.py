"""AITER's own Python, run on a CPU: the real ``aiter/mla.py`` and ``aiter/ops/attention.py``, with
stand-ins for what is compiled.

``package`` makes the package that those two files believe to be in. ``natives`` answers their
calls of compiled functions: it refuses what the source has no kernel for, checks every argument,
and hands over to ``planner``, ``attend`` and ``merging``, which compute what the real ones are
documented to. What is wrong in the calls therefore shows in the results. What a real kernel does
inside, and how fast, this cannot tell.
"""
