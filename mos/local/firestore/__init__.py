"""The embedded Firestore server: a local engine for development, demos and tests.

It speaks `google.firestore.v1.Firestore` over gRPC (`python -m mos.local.firestore`)
or stands behind the stock client in the same process (`mos.local.firestore.inprocess`).

    names, fields, encoding        resource names, field paths, Firestore's value order as bytes
    values, transforms, mutation   what a write does to one document
    filters, query, scan           what a query asks, and how the sorted keys answer it
    history, store, storage        versions in memory, sorted indexes, SQLite
    locks, transactions, engine    serialisable transactions in both concurrency modes
    rpc, server, inprocess         the service, over a socket and without one
"""
