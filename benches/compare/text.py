"""TF-IDF weights of made-up documents: words by Zipf's law, and topics with words of their own."""

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

WORDS_PER_DOCUMENT = 80
# Of a document's words, the share that is drawn from its topic's own.
TOPIC_SHARE = 0.15
TOPIC_WORDS = 60


def make(documents: int, words: int, topics: int) -> tuple[sparse.csr_matrix, np.ndarray]:
    """A CSR matrix of documents and words, and the topic of each document."""
    rng = np.random.default_rng(0)
    frequencies = 1 / np.arange(1, words + 1)
    drawn = rng.choice(words, (documents, WORDS_PER_DOCUMENT), p=frequencies / frequencies.sum())
    topic = rng.integers(topics, size=documents)
    own = rng.integers(words // 10, words, (topics, TOPIC_WORDS))
    of_topic = own[topic[:, None], rng.integers(TOPIC_WORDS, size=drawn.shape)]
    drawn = np.where(rng.random(drawn.shape) < TOPIC_SHARE, of_topic, drawn)
    rows = np.repeat(np.arange(documents), WORDS_PER_DOCUMENT)
    ones = np.ones(drawn.size)
    counts = sparse.csr_matrix((ones, (rows, drawn.ravel())), shape=(documents, words))
    return TfidfTransformer().fit_transform(counts), topic
