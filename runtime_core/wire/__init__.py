"""Data types of the contract, lossless JSON and error codes. No input or output; imports nobody."""
