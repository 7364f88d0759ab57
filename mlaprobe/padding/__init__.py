"""The head count to launch, and the padding of tensors."""
