"""What one AITER contradicts itself in: facts, and rules that make findings of them.

Its functions are ``inspection.inspect`` and ``inspection.new_findings``; ``model`` has the form of
a finding.
"""
