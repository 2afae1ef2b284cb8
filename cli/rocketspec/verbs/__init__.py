"""One module per verb, with a function of its name, or a group `GROUP`; each imports what it needs only when it runs."""
