"""The stages of operations besides decode, which are data (``rules/operations.yaml``)."""
