"""Show it: the curves of a training, as SVG and as a page."""
