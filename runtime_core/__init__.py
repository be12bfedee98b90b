"""The durable runtime of Operator Inbox: a library that knows nothing of the window."""
