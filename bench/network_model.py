#!/usr/bin/env python3
"""What a step costs on a network, from two ranks measured here to a thousand.

    bench/network_model.py              compares the model with what was measured, and prints the table of docs/distributed.md
    bench/network_model.py --measure    measures anew (bench/two_hosts.py: root, Open MPI), about a minute

The model of a synchronous step of N ranks, with gradients and weights of n bytes:

    T = c + k·α + 2·(N − 1)·(n/(N·β) + m·o)

c is the time of a step without a network, α the latency and β the rate of a link, k the number of latencies that a step
waits for one after the other (small sums, and the handshakes of large messages), and m·o what m buckets cost a rank for
each message beside its bytes. The sum and the gathering each move (N − 1)/N of n bytes to and from every rank. Nothing
of it happens beside the computation. With train.sync_every = H, only each H-th step has a network: T = c + (T − c)/H.
c and k are fitted to the measurements by least squares; o is assumed.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

OVERHEAD_S = 2e-6  # of one message, assumed
BUCKET, LEAST_PIECE = 1 << 22, 1 << 15  # elements: SlabShares
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PARAMETERS = 807_424  # of the model below
MODEL = """--model.layers 4 --model.heads 4 --model.dim 128 --model.context 64 --tokenizer.kind char --data.corpus stories
--data.lines 5000 --train.steps 40 --train.batch 12 --train.accumulate 2 --train.threads 1 --train.log_every 1
--train.matmul highest --eval.every 0 --eval.batches 1 --checkpoint.every 0""".split()
# (delay in ms, Gbit/s): seconds of a step of two ranks. 2 cores of a Xeon, 2026-11-22, other work beside it.
MEASURED = {(0, 100): 0.0727, (1, 1): 0.1100, (1, 0.2): 0.2041, (5, 1): 0.1350}


def measure(delay_ms, gbit):
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        subprocess.run([os.path.join(ROOT, "bench/two_hosts.py"), "--delay-ms", str(delay_ms), "--gbit", str(gbit), "--",
                        os.path.join(ROOT, "build/tapeformer"), "train", *MODEL, "--out", run],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(os.path.join(run, "metrics.jsonl")) as lines:
            times = [line["elapsed_s"] for line in map(json.loads, lines) if "lr" in line]
    return statistics.median(b - a for a, b in zip(times, times[1:]))


def wire_s(ranks, parameters, gbit, bytes_each=4):
    buckets = -(-parameters // max(BUCKET, ranks * LEAST_PIECE))
    return 2 * (ranks - 1) * (bytes_each * parameters / ranks / (gbit * 1e9 / 8) + buckets * OVERHEAD_S)


def fit(measured):
    """c and k of T − wire = c + k·α, by least squares."""
    points = [(delay / 1000, step - wire_s(2, PARAMETERS, gbit)) for (delay, gbit), step in measured.items()]
    x, y = (statistics.mean(values) for values in zip(*points))
    k = sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)
    return y - k * x, k


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true")
    measured = {key: measure(*key) for key in MEASURED} if parser.parse_args().measure else MEASURED
    c, k = fit(measured)
    print("two ranks, %d parameters: c = %.1f ms, k = %.1f" % (PARAMETERS, 1000 * c, k))
    print("| delay | rate | measured | model | difference |\n|---|---|---|---|---|")
    for (delay, gbit), step in measured.items():
        model = c + k * delay / 1000 + wire_s(2, PARAMETERS, gbit)
        print("| %g ms | %g Gbit/s | %.1f ms | %.1f ms | %+.0f %% |" %
              (delay, gbit, 1000 * step, 1000 * model, 100 * (model / step - 1)))
    print("\n1,000 ranks, a step of 10 s by itself, a delay of 50 µs: the share of the time that is computation")
    print("| parameters | rate | fp32 | bf16 | H = 50, fp32 | H = 500, fp32 |\n|---|---|---|---|---|---|")
    for parameters in (124e6, 1.3e9, 7e9):
        for gbit in (10, 25, 100):
            step = 10.0
            shares = []
            for bytes_each, rounds in ((4, 1), (2, 1), (4, 50), (4, 500)):
                wire = k * 50e-6 + wire_s(1000, int(parameters), gbit, bytes_each)
                shares.append("%.1f %%" % (100 * step / (step + wire / rounds)))
            print("| %g million | %g Gbit/s | %s |" % (parameters / 1e6, gbit, " | ".join(shares)))


if __name__ == "__main__":
    main()
