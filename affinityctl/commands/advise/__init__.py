"""The command advise: does the extender pay in a cluster, and in which mode?"""
