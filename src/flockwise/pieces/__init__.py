"""The small choices that a method is made of; each file holds one kind."""
