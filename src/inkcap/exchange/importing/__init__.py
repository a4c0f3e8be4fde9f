"""Importing: foreign models become drawings with weights."""
