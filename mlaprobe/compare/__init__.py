"""What becomes different between two AITERs, and whether a pin may be bumped.

Its functions are ``diff.compare``, ``scope.compare_served``, ``gate.check`` and
``history.history``; ``results.Results`` is the form of what they find. Modules are imported where
they are used: a command pays for its own only.
"""
