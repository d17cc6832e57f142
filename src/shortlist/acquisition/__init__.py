"""Acquisition functions: what ranks items, given what each is expected to cost. One file each."""
