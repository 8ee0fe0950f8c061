// Seconds for one pinocchio::constraintDynamics with points of frames held, in C++.
//
//   constraint_dynamics MODEL CALLS HELD Q...
//
// MODEL as pinocchio.Model.saveToBinary writes it; HELD: names of frames, with commas between.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include <pinocchio/algorithm/constrained-dynamics.hpp>
#include <pinocchio/serialization.hpp>

namespace pin = pinocchio;

int main(int count, char **argument) {
  if (count < 4) return 2;
  pin::Model model;
  model.loadFromBinary(argument[1]);
  if (count != 4 + model.nq) return 3;
  Eigen::VectorXd q(model.nq);
  for (int k = 0; k < model.nq; ++k) q[k] = std::stod(argument[4 + k]);
  const Eigen::VectorXd v = Eigen::VectorXd::Zero(model.nv), tau = v;

  std::vector<pin::RigidConstraintModel, Eigen::aligned_allocator<pin::RigidConstraintModel>> held;
  std::vector<pin::RigidConstraintData, Eigen::aligned_allocator<pin::RigidConstraintData>> own;
  std::stringstream names(argument[3]);
  for (std::string name; std::getline(names, name, ',');) {
    const auto &frame = model.frames[model.getFrameId(name)];
    held.emplace_back(pin::CONTACT_3D, model, frame.parentJoint, frame.placement, pin::LOCAL);
    own.emplace_back(held.back());
  }
  pin::Data data(model);
  pin::ProximalSettings settings(1e-12, 0.0, 1);
  pin::initConstraintDynamics(model, data, held, own);

  const int calls = std::stoi(argument[2]);
  double best = 1e9, sum = 0.0;
  for (int round = 0; round < 7; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < calls; ++k)
      sum += pin::constraintDynamics(model, data, q, v, tau, held, own, settings)[0];
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count() / calls);
  }
  std::printf("%.9e %.9e\n", best, sum);  // the sum, so that nothing is left out
}
