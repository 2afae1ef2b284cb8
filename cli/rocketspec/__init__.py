"""rocketspec: format specification and conformance suite for RocketMQ 4.9.3's store files."""
