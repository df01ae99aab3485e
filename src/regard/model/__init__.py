"""The paper: sections 3.1 to 3.5, and nothing but torch."""
