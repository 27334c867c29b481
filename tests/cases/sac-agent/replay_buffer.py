import numpy as np
import torch


class ReplayBuffer:
    def __init__(self, max_size, obs_shape, n_actions):
        self.mem_size = max_size
        self.mem_cntr = 0
        self.state_memory = np.zeros((max_size, obs_shape), dtype=np.float32)
        self.new_state_memory = np.zeros((max_size, obs_shape), dtype=np.float32)
        self.action_memory = np.zeros((max_size, n_actions), dtype=np.float32)
        self.reward_memory = np.zeros(max_size, dtype=np.float32)
        self.terminal_memory = np.zeros(max_size, dtype=bool)

    def store_transition(self, state, action, reward, state_, done):
        index = self.mem_cntr % self.mem_size
        self.state_memory[index] = state
        self.new_state_memory[index] = state_
        self.action_memory[index] = action
        self.reward_memory[index] = reward
        self.terminal_memory[index] = done
        self.mem_cntr += 1

    def sample_buffer(self, batch_size):
        max_mem = min(self.mem_cntr, self.mem_size)
        batch = np.random.choice(max_mem, batch_size)
        arrays = (self.state_memory, self.action_memory, self.reward_memory,
                  self.new_state_memory, self.terminal_memory)
        return [torch.as_tensor(a[batch]) for a in arrays]
