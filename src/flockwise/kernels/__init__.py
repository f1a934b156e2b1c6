"""Fast exact building blocks for matrices of clients by parameters, shared by aggregation and similarity.

Every kernel gives the same bits for any number of threads: block boundaries and the order of summation are
fixed, and BLAS is kept to one thread inside.
"""

from flockwise.kernels.parallel import set_threads, thread_count

__all__ = ["set_threads", "thread_count"]
