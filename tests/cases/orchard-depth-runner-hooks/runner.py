import importlib

HOOKS = {}


def register(cls):
    HOOKS[cls.__name__] = cls
    return cls


def build(cfg, registry):
    cfg = dict(cfg)
    return registry[cfg.pop("type")](**cfg)


class Runner:
    stages = ("before_run", "before_iter", "after_iter", "after_epoch", "after_run")

    def __init__(self, model, optimizer, batch_processor, max_epochs):
        self.model, self.optimizer = model, optimizer
        self.batch_processor, self.max_epochs = batch_processor, max_epochs
        self.hooks, self.outputs, self.log = [], None, {}
        self.epoch = self.iter = 0

    def register_hook(self, hook, priority=50):
        hook = build(hook, HOOKS) if isinstance(hook, dict) else hook
        hook.priority = priority
        self.hooks.append(hook)
        self.hooks.sort(key=lambda h: h.priority)

    def register_training_hooks(self, optimizer_config, custom=()):
        importlib.import_module("hooks")
        self.register_hook({"type": "OptimizerHook", **optimizer_config}, priority=40)
        self.register_hook({"type": "MeterHook"}, priority=90)
        for cfg in custom:
            cfg = dict(cfg)
            self.register_hook(cfg, cfg.pop("priority", 50))

    def call(self, stage):
        for hook in self.hooks:
            getattr(hook, stage, lambda runner: None)(self)

    def run(self, loader):
        self.call("before_run")
        for self.epoch in range(self.max_epochs):
            for batch in loader:
                self.call("before_iter")
                self.outputs = self.batch_processor(self.model, batch)
                self.call("after_iter")
                self.iter += 1
            self.call("after_epoch")
        self.call("after_run")
        return self.log
