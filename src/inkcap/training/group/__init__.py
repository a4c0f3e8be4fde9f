"""Workers that train together: the ranks of a torch process group, each with its part of every batch."""

from inkcap.training.group.membership import Group, GroupLost, Owner

__all__ = ["Group", "GroupLost", "Owner"]
