"""What a page shows, in Python's terms: every test of a page begins with these."""

import numpy as np

OPENED = "() => globalThis.regard?.app.a.value && !globalThis.regard.app.busy.value"


def open_page(page, view="#/attention", address="/"):
    """Opens the page at a view and waits until it has a translation to show."""
    page.goto(address + view)
    page.wait_for_function(OPENED)
    return page


def choose(page, **choices):
    """Sets what is chosen, as links and keys do: kind, layer, head, row."""
    page.evaluate(
        "given => { for (const [name, value] of Object.entries(given)) regard.app.at[name].value = value }",
        choices,
    )


def chosen(page, name):
    return page.evaluate("name => regard.app.at[name].value", name)


def shown_trace(page):
    """The trace that the page holds, as JSON."""
    return page.evaluate("() => regard.app.trace.value")


def shown_attention(page, kind, layer, head):
    """The weights that the page's own modules unpack, as an array."""
    matrix = page.evaluate(
        """async ([kind, layer, head]) => {
          const { attention } = await import("regard/trace.js");
          const { rows, columns, values } = attention(regard.app.trace.value, kind, layer, head);
          return { rows, columns, values: Array.from(values) };
        }""",
        [kind, layer, head],
    )
    return np.array(matrix["values"]).reshape(matrix["rows"], matrix["columns"])
