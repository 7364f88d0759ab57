"""One module per stage of AITER's MLA decode; each answers alone.

Every stage is read from a source once and then answers many questions. AITER's names live here and
in ``rules/layouts.yaml``, nowhere else.
"""
