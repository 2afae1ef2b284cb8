"""The documentation site: pages of the checkout and pages made from its code, built by Sphinx."""
