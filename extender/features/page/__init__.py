"""The page for people, from templates, without scripts; and its census of rules, as JSON."""
