"""Engines: what computes the steps of a run, and how it is chosen."""
