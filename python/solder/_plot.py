# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The history of a report, by matplotlib."""


def plot(report, axes=None):
    if axes is None:
        import matplotlib.pyplot as plt

        axes = plt.subplots()[1]
    axes.semilogy(report.history, label=f"{report.solver.removeprefix('Solder::')}, {report.reason}")
    axes.set_xlabel("iteration")
    axes.set_ylabel("relative residual")
    axes.legend()
    return axes
