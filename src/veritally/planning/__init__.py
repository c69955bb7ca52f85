"""What to ask next, when to stop, and how to compose a group."""
