from __future__ import print_function, division
import random
import torch
import torch.nn as nn
from torch import optim
from torch.autograd import Variable
import torch.nn.functional as F

SOS_token = 0
EOS_token = 1
MAX_LENGTH = 7
teacher_forcing_ratio = 0.6
global_step = 0

torch.manual_seed(1234)
random.seed(1234)


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size):
        super(EncoderRNN, self).__init__()
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size)

    def forward(self, input, hidden):
        embedded = self.embedding(input).view(1, 1, -1)
        output, hidden = self.gru(embedded, hidden)
        return output, hidden

    def initHidden(self):
        return Variable(torch.zeros(1, 1, self.hidden_size))


class DecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size):
        super(DecoderRNN, self).__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attn = nn.Linear(hidden_size, hidden_size, bias=False)
        self.gru = nn.GRU(hidden_size * 2, hidden_size)
        self.out = nn.Linear(hidden_size, output_size)

    def forward(self, input, hidden, encoder_outputs):
        embedded = self.embedding(input).view(1, 1, -1)
        energies = torch.mm(self.attn(hidden[0]), encoder_outputs.t())
        weights = F.softmax(energies, dim=1)
        context = torch.mm(weights, encoder_outputs).unsqueeze(0)
        output, hidden = self.gru(torch.cat((embedded, context), 2), hidden)
        return F.log_softmax(self.out(output[0]), dim=1), hidden, weights


def random_pair(n_words):
    length = random.randint(3, MAX_LENGTH - 2)
    words = [random.randint(2, n_words - 1) for _ in range(length)]
    source = Variable(torch.LongTensor(words + [EOS_token]).view(-1, 1))
    target = Variable(torch.LongTensor(words[::-1] + [EOS_token]).view(-1, 1))
    return source, target


def forcing_probability():
    # decays with the number of updates made so far
    return teacher_forcing_ratio * 0.97 ** global_step


def train(source, target, encoder, decoder, encoder_optimizer, decoder_optimizer, criterion):
    global global_step
    encoder_hidden = encoder.initHidden()
    encoder_optimizer.zero_grad()
    decoder_optimizer.zero_grad()

    encoder_outputs = []
    for ei in range(source.size(0)):
        encoder_output, encoder_hidden = encoder(source[ei], encoder_hidden)
        encoder_outputs.append(encoder_output[0])
    encoder_outputs = torch.cat(encoder_outputs, 0)

    loss = 0
    decoder_input = Variable(torch.LongTensor([[SOS_token]]))
    decoder_hidden = encoder_hidden
    use_teacher_forcing = random.random() < forcing_probability()

    for di in range(target.size(0)):
        decoder_output, decoder_hidden, _ = decoder(decoder_input, decoder_hidden, encoder_outputs)
        loss += criterion(decoder_output, target[di])
        if use_teacher_forcing:
            decoder_input = target[di]
        else:
            topv, topi = decoder_output.data.topk(1)
            decoder_input = Variable(topi.squeeze())
            if decoder_input.item() == EOS_token:
                break

    loss.backward()
    encoder_optimizer.step()
    decoder_optimizer.step()
    global_step += 1
    return loss.data.item() / target.size(0)


def trainIters(encoder, decoder, n_iters, print_every=10, learning_rate=0.02):
    print_loss_total = 0
    plot_losses = []
    encoder_optimizer = optim.Adam(encoder.parameters(), lr=learning_rate)
    decoder_optimizer = optim.Adam(decoder.parameters(), lr=learning_rate)
    criterion = nn.NLLLoss()
    for it in range(1, n_iters + 1):
        source, target = random_pair(6)
        loss = train(source, target, encoder, decoder, encoder_optimizer, decoder_optimizer, criterion)
        print_loss_total += loss
        if it % print_every == 0:
            plot_losses.append(print_loss_total / print_every)
            print_loss_total = 0
            print('step %d forcing %.2f loss %.4f' % (global_step, forcing_probability(), plot_losses[-1]))
    return plot_losses


if __name__ == '__main__':
    encoder1 = EncoderRNN(6, 16)
    decoder1 = DecoderRNN(16, 6)
    plot = trainIters(encoder1, decoder1, 40)
    e = sum([p.data.abs().sum().item() for p in encoder1.parameters()])
    d = sum([p.data.abs().sum().item() for p in decoder1.parameters()])
    print('RESULT %.6g %.6g %.6g' % (e, d, plot[-1]))
