# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# From a Matrix Market file to a picture: python picture.py A.mtx picture.svg
import sys

import numpy as np
import scipy.io
import scipy.sparse as sp
import solder

A = sp.csr_array(scipy.io.mmread(sys.argv[1]))
x, report = solder.solve(A, A @ np.ones(A.shape[0]), "gmres", "ilu0")
print(report)
report.plot().figure.savefig(sys.argv[2])
