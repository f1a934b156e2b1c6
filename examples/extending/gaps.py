"""A clusterer of your own: cut where neighbours in the first principal direction are furthest apart."""

import numpy as np

import flockwise as fw


class LargestGap:
    """Two flocks, split at the largest gap along the direction in which similarities vary most."""

    takes = "similarity"  # or "distance"; without it, the updates themselves

    def fit_predict(self, similarity, y=None):
        """Labels 0 and 1."""
        _, vectors = np.linalg.eigh(similarity - similarity.mean(axis=0))
        along = vectors[:, -1]
        order = np.argsort(along)
        cut = int(np.argmax(np.diff(along[order]))) + 1
        labels = np.zeros(len(along), dtype=int)
        labels[order[cut:]] = 1
        return labels


if __name__ == "__main__":
    clients = fw.splits.label_swap(fw.data.digits(), clients=10, groups=2)
    method = fw.custom(clustering=LargestGap(), similarity="one-plus-cosine", first=4)
    print(
        fw.run(method, clients, model=fw.models.mlp, training=fw.SGD(epochs=3, learning_rate=0.1), rounds=8)
    )
