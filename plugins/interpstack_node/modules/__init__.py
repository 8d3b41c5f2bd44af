"""Modules that guests of Node import: built-in ones, packages, and files of a working folder."""
