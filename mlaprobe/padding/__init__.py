"""The head count to launch, and the padding of tensors. ``api`` and ``runplan`` have the calls,
``plan`` their answers, ``tensors`` the padding."""
