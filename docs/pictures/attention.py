"""Draws where each French piece looks in the English sentence: the README's picture.

    python docs/pictures/attention.py runs/demo "Jane visits Africa in September." docs/pictures/jane.svg

Every cell is a weight of the model's own cross-attention (last layer, mean of the heads).
"""

import sys
from html import escape
from pathlib import Path

import torch

from regard.inference.eager import EagerEngine
from regard.text.tokenizer import BOS, EOS
from regard.translation.model_folder import load_model

CELL, LEFT, TOP = 44, 150, 110


def main(folder: str, text: str, out: str) -> None:
    model, tokenizer, _ = load_model(Path(folder))
    (source,) = tokenizer.tokenize([text])
    ((best,),) = EagerEngine(model).translate([source])
    target = best.tokens
    weights = cross_attention(model, [*source, EOS], [BOS, *target])
    columns = [tokenizer.piece(id) for id in [*source, EOS]]
    rows = [tokenizer.piece(id) for id in [*target, EOS]]
    Path(out).write_text(draw(weights, rows, columns), encoding="utf-8")


def cross_attention(model, source: list[int], target_in: list[int]) -> torch.Tensor:
    """The weights of the last layer, a row for each target token that was predicted."""
    seen = []
    last = model.decoder.layers[-1].cross_attention
    hook = last.register_forward_pre_hook(lambda module, inputs: seen.append(module.weights(*inputs)))
    with torch.no_grad():
        model(torch.tensor([source]), torch.ones(1, len(source), dtype=torch.bool), torch.tensor([target_in]))
    hook.remove()
    return seen[0][0].mean(dim=0)


def draw(weights: torch.Tensor, rows: list[str], columns: list[str]) -> str:
    width, height = LEFT + CELL * len(columns) + 20, TOP + CELL * len(rows) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="15">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="20" font-size="12" fill="#666">is attended to (key)</text>',
        '<text x="12" y="100" font-size="12" fill="#666">predicted word</text>',
    ]
    for j, piece in enumerate(columns):
        x, y = LEFT + CELL * j + CELL / 2 + 5, TOP - 10
        turn = f'transform="rotate(-40 {x} {y})"'
        parts.append(f'<text x="{x}" y="{y}" {turn} fill="#222">{escape(piece.strip())}</text>')
    for i, piece in enumerate(rows):
        y = TOP + CELL * i
        parts.append(
            f'<text x="{LEFT - 10}" y="{y + 28}" text-anchor="end" fill="#222">{escape(piece.strip())}</text>'
        )
        for j in range(len(columns)):
            weight = float(weights[i, j])
            parts.append(
                f'<rect x="{LEFT + CELL * j}" y="{y}" width="{CELL - 2}" height="{CELL - 2}" rx="4" '
                f'fill="#1f4e8c" fill-opacity="{0.03 + 0.97 * weight:.3f}"/>'
            )
            if weight >= 0.1:
                ink = "#fff" if weight > 0.5 else "#222"
                parts.append(
                    f'<text x="{LEFT + CELL * j + CELL / 2 - 1}" y="{y + 27}" font-size="12" '
                    f'text-anchor="middle" fill="{ink}">{weight:.2f}</text>'
                )
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    main(*sys.argv[1:])
