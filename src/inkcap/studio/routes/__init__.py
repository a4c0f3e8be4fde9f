"""The studio's routes, by what they are about."""
