"""What AMD's AITER does with an MLA decode shape, read from AITER's own source."""
