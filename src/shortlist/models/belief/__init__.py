"""Beliefs: what a model, its neighbours, the names of the classes and anybody else say of an item, as one."""
