class Registry(dict):
    def register(self, name=None):
        def deco(obj):
            self[name or obj.__name__] = obj
            return obj
        return deco

    def build(self, spec):
        spec = dict(spec)
        return self[spec.pop("type")](**spec)


TOWERS = Registry()
LOSSES = Registry()
OPTIMS = Registry()
