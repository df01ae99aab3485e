from regard.forecasting import dataset
from regard.forecasting.autoconfig import autoconfigure_forecasting
from regard.forecasting.dataset import prepare_forecasting_data
from synthetic_series import small_forecast_run, write_wave_series


def test_autoconfig_and_training_parse_the_table_once(tmp_path, monkeypatch):
    run = small_forecast_run(write_wave_series(tmp_path / "waves.csv"))
    parse, parsed = dataset.read_series_table, []

    def counting(path, *options):
        parsed.append(path)
        return parse(path, *options)

    monkeypatch.setattr(dataset, "read_series_table", counting)
    autoconfigure_forecasting(run, {})
    prepare_forecasting_data(run.data, 48, 12)
    assert parsed == [tmp_path / "waves.csv"]


def test_a_changed_table_is_parsed_again(tmp_path):
    run = small_forecast_run(write_wave_series(tmp_path / "waves.csv"))
    first = prepare_forecasting_data(run.data, 48, 12)
    write_wave_series(tmp_path / "waves.csv", seed=1)
    second = prepare_forecasting_data(run.data, 48, 12)
    assert first.table.values.tolist() != second.table.values.tolist()
    assert first.fingerprint != second.fingerprint
