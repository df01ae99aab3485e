"""Access to the explorer's page from Python: open it, set its state, read its data."""

import numpy as np

OPENED = "() => globalThis.regard?.app.traceA.value && !globalThis.regard.app.busy.value"


def open_page(page, view="#/attention", address="/"):
    """Open the page at a view and wait until it shows a translation."""
    page.goto(address + view)
    page.wait_for_function(OPENED)
    return page


def choose(page, **choices):
    """Set the page's state, as links and keys do: kind, layer, head, row."""
    page.evaluate(
        "all => { for (const [name, value] of Object.entries(all)) regard.app.state[name].value = value }",
        choices,
    )


def chosen(page, name):
    return page.evaluate("name => regard.app.state[name].value", name)


def shown_trace(page):
    """Return the trace on the page, as JSON."""
    return page.evaluate("() => regard.app.trace.value")


def shown_attention(page, kind, layer, head):
    """Return attention weights as unpacked by the page's modules."""
    matrix = page.evaluate(
        """async ([kind, layer, head]) => {
          const { attentionWeights } = await import("regard/trace.js");
          const { rows, columns, values } = attentionWeights(regard.app.trace.value, kind, layer, head);
          return { rows, columns, values: Array.from(values) };
        }""",
        [kind, layer, head],
    )
    return np.array(matrix["values"]).reshape(matrix["rows"], matrix["columns"])
