from regard.trace.fitting import fitted


def test_what_is_too_large_keeps_the_layer_that_is_looked_at(tracer):
    trace = tracer.trace(tracer.request("the cat", target="a dog"), qkv=True)
    assert fitted(trace, 2) is trace
    small = fitted(trace, 2, most=1000)
    assert len(small.dumps()) < len(trace.dumps())
    for kind, kept in small.qkv.items():
        assert kept.layers == (2,)
        assert (kept.q[0] == trace.qkv[kind].q[1]).all()
        assert kept.q.shape[1:] == trace.qkv[kind].q.shape[1:]
    assert small.omitted == ("qkv.encoder", "qkv.decoder", "qkv.cross")
    without = tracer.trace(tracer.request("the cat", target="a dog"))
    assert fitted(without, 2, most=1000) is without
