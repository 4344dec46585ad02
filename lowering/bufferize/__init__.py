"""From tensors to buffers: where values lie, the launches that compute them, and one arena for all."""
