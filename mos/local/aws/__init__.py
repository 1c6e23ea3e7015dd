"""AWS on one machine: a moto server as a process, its queues, and a model of SQS for the simulator."""
