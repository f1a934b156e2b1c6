"""Where to cut a dendrogram when nobody knows the scale of the distances."""



def automatic_threshold(distance, merges):
    return 0.0
