"""End-to-end: learn to reverse digits through the command line, and translate unseen numbers."""

from random import Random

from regard.cli.main import main


def test_a_model_learns_to_reverse_digits(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    random = Random(0)
    numbers = {"".join(random.choices("0123456789", k=random.randint(2, 5))) for _ in range(4000)}
    lines = sorted(numbers)
    random.shuffle(lines)
    train, test = lines[50:], lines[:50]
    (tmp_path / "train.a").write_text("".join(f"{' '.join(n)}\n" for n in train))
    (tmp_path / "train.b").write_text("".join(f"{' '.join(reversed(n))}\n" for n in train))
    (tmp_path / "test.a").write_text("".join(f"{' '.join(n)}\n" for n in test))
    settings = (
        "model.d_model=64 model.d_ff=128 model.encoder_layers=2 model.decoder_layers=2 model.dropout=0.0 "
        "model.vocab_size=300 data.batch_tokens=512 data.bleu_pairs=20 "
        "optimizer.peak=0.003 optimizer.warmup=100 optimizer.cooldown=200 "
        "train.steps=400 train.save_every=400"
    )
    main(
        ["train", "--source", "train.a", "--target", "train.b", "--out", "run", "--preset", "tiny"]
        + [f"--set={setting}" for setting in settings.split()]
    )
    main(["translate", "run", "--input", "test.a", "--output", "test.b"])
    translations = (tmp_path / "test.b").read_text().splitlines()
    correct = sum(a == " ".join(reversed(n)) for a, n in zip(translations, test, strict=True))
    assert correct >= 45, capsys.readouterr().out
