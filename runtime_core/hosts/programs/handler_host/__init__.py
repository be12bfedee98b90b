"""The process that runs Python handlers; same protocol and same rules as the programs for TypeScript beside it."""
