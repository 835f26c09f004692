#!/usr/bin/env python3
"""What a step costs on a network, from two ranks measured here to a thousand.

    bench/network_model.py              compares the model with what was measured, and prints the table of docs/distributed.md
    bench/network_model.py --measure    measures anew (bench/two_hosts.py: root, Open MPI), about two minutes

The model of a synchronous step of N ranks:

    T = c + k·α + tail + gather,    tail = w(last) + max(0, w(others) − b),    gather = w(all)
    w(n bytes in m buckets) = (N − 1)·(n/(N·β) + m·o)

c is the time of a step without a network, α the latency and β the rate of a link, and k the number of latencies that a
step waits for one after the other (small sums, and the handshakes of large messages). w is the time that buckets are on
the wire: (N − 1)/N of their bytes go to and come from every rank, and each message costs o beside its bytes. Gradients
travel in buckets while the backward of the last micro-step goes on, which takes b: two thirds of that micro-step. Only
the last bucket is not ready before its end. The new weights travel behind it. With train.sync_every = H, only each H-th
step has a network: T = c + (T − c)/H. c and k are fitted to the first three measurements by least squares, and tried on
the others; o is assumed.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

OVERHEAD_S = 2e-6  # of one message, assumed
BUCKET, LEAST_PIECE = 1 << 19, 1 << 15  # elements: GradientBuckets
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PARAMETERS = 807_424  # of the model below, where each of two ranks has one micro-step
FITTED = 3  # measurements; the model has not seen the others
MODEL = """--model.layers 4 --model.heads 4 --model.dim 128 --model.context 64 --tokenizer.kind char --data.corpus stories
--data.lines 5000 --train.steps 40 --train.batch 12 --train.accumulate 2 --train.threads 1 --train.log_every 1
--train.matmul highest --eval.every 0 --eval.batches 1 --checkpoint.every 0""".split()
# (delay in ms, Gbit/s): seconds of a step of two ranks. 2 cores of an AMD EPYC (Zen 4), 2026-11-23.
MEASURED = {(0, 100): 0.0611, (1, 1): 0.0864, (5, 1): 0.1213, (1, 0.2): 0.1763, (2, 0.5): 0.1197, (10, 1): 0.1676}


def measure(delay_ms, gbit):
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        subprocess.run([os.path.join(ROOT, "bench/two_hosts.py"), "--delay-ms", str(delay_ms), "--gbit", str(gbit), "--",
                        os.path.join(ROOT, "build/tapeformer"), "train", *MODEL, "--out", run],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(os.path.join(run, "metrics.jsonl")) as lines:
            times = [line["elapsed_s"] for line in map(json.loads, lines) if "lr" in line]
    return statistics.median(b - a for a, b in zip(times, times[1:]))


def network_s(ranks, parameters, gbit, backward_s, bytes_each=4):
    """tail + gather"""
    bucket = max(BUCKET, ranks * LEAST_PIECE)

    def wire(elements):
        return (ranks - 1) * (bytes_each * elements / ranks / (gbit * 1e9 / 8) + -(-elements // bucket) * OVERHEAD_S)

    last = min(bucket, parameters)
    return wire(last) + max(0, wire(parameters - last) - backward_s) + wire(parameters)


def modelled(c, k, delay_ms, gbit):
    return c + k * delay_ms / 1000 + network_s(2, PARAMETERS, gbit, 2 / 3 * c)


def fit(measured):
    """c and k of T − network = c + k·α, by least squares. The network's part has a little of c in it."""
    c = k = 0
    for _ in range(20):
        points = [(delay / 1000, step - network_s(2, PARAMETERS, gbit, 2 / 3 * c)) for (delay, gbit), step in measured]
        x, y = (statistics.mean(values) for values in zip(*points))
        k = sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)
        c = y - k * x
    return c, k


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true")
    measured = {key: measure(*key) for key in MEASURED} if parser.parse_args().measure else MEASURED
    c, k = fit(list(measured.items())[:FITTED])
    print("two ranks, %d parameters: c = %.1f ms, k = %.1f" % (PARAMETERS, 1000 * c, k))
    print("| delay | rate | measured | model | difference | |\n|---|---|---|---|---|---|")
    for i, ((delay, gbit), step) in enumerate(measured.items()):
        model = modelled(c, k, delay, gbit)
        print("| %g ms | %g Gbit/s | %.1f ms | %.1f ms | %+.0f %% | %s |" %
              (delay, gbit, 1000 * step, 1000 * model, 100 * (model / step - 1), "fitted" if i < FITTED else "tried"))
    print("\n1,000 ranks, a step of 10 s by itself, a delay of 50 µs: the share of the time that is computation")
    print("| parameters | rate | fp32 | bf16 | H = 50, fp32 | H = 500, fp32 |\n|---|---|---|---|---|---|")
    for parameters in (124e6, 1.3e9, 7e9):
        for gbit in (10, 25, 100):
            step = 10.0
            shares = []
            for bytes_each, rounds in ((4, 1), (2, 1), (4, 50), (4, 500)):
                wire = k * 50e-6 + network_s(1000, int(parameters), gbit, 2 / 3 * step, bytes_each)
                shares.append("%.1f %%" % (100 * step / (step + wire / rounds)))
            print("| %g million | %g Gbit/s | %s |" % (parameters / 1e6, gbit, " | ".join(shares)))


if __name__ == "__main__":
    main()
